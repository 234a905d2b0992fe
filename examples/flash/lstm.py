"""An LSTM that predicts the next character of Shakespeare's text: `python lstm.py`, with `--data FILE` on other text.

Characters are the 65 of tiny Shakespeare; what else a text has counts as a blank.
"""

from functools import partial

import torch
from torch import nn

CHARACTERS = "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
LENGTH = 40
# Sonnet 18, and two speeches: of Macbeth and of Jaques.
VERSES = """\
Shall I compare thee to a summer's day?
Thou art more lovely and more temperate:
Rough winds do shake the darling buds of May,
And summer's lease hath all too short a date:
Sometime too hot the eye of heaven shines,
And often is his gold complexion dimm'd;
And every fair from fair sometime declines,
By chance or nature's changing course untrimm'd;
But thy eternal summer shall not fade
Nor lose possession of that fair thou owest;
Nor shall Death brag thou wander'st in his shade,
When in eternal lines to time thou growest:
So long as men can breathe or eyes can see,
So long lives this and this gives life to thee.

To-morrow, and to-morrow, and to-morrow,
Creeps in this petty pace from day to day
To the last syllable of recorded time,
And all our yesterdays have lighted fools
The way to dusty death. Out, out, brief candle!
Life's but a walking shadow, a poor player
That struts and frets his hour upon the stage
And then is heard no more: it is a tale
Told by an idiot, full of sound and fury,
Signifying nothing.

All the world's a stage,
And all the men and women merely players:
They have their exits and their entrances;
And one man in his time plays many parts,
His acts being seven ages.
"""


class CharacterLstm(nn.Module):
    """Two LSTM layers of 565 units: 4,025,330 parameters."""

    def __init__(self, width=64, units=565):
        super().__init__()
        self.embedding = nn.Embedding(len(CHARACTERS), width)
        self.lstm = nn.LSTM(width, units, num_layers=2, batch_first=True)
        self.head = nn.Linear(units, len(CHARACTERS))

    def forward(self, characters):
        """Scores (rows, characters, length) of what follows each of the characters (rows, length)."""
        states, _ = self.lstm(self.embedding(characters))
        return self.head(states).transpose(1, 2)


def load_text(path=None):
    """Rows of LENGTH characters, each labelled by the characters that follow; the text's end tests."""
    text = VERSES if path is None else path.read_text(encoding="utf-8")
    blank = CHARACTERS.index(" ")
    numbers = {character: number for number, character in enumerate(CHARACTERS)}
    codes = torch.tensor([numbers.get(character, blank) for character in text])
    count = (len(codes) - 1) // LENGTH
    inputs, labels = (codes[start : start + count * LENGTH].reshape(count, LENGTH) for start in (0, 1))
    cut = count - min(100, max(1, count // 10))
    return (inputs[:cut], labels[:cut]), (inputs[cut:], labels[cut:])


if __name__ == "__main__":
    from federated_training import train

    train(CharacterLstm, load_text, rounds=3, steps=4, batch_rows=8, make_optimiser=partial(torch.optim.Adam, lr=3e-3))
