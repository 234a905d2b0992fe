"""BatchCrypt's three models (ATC 2020, section 6.1) in PyTorch: a dense network, an AlexNet-like CNN, an LSTM."""

from __future__ import annotations

from torch import Tensor, nn

CHARACTER_EMBEDDING = 64
LSTM_UNITS = 565


def make_mlp() -> nn.Module:
    """784-128-10 for MNIST: 101,770 values."""
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


def make_cnn() -> nn.Module:
    """AlexNet cut to 32 x 32 pixels for CIFAR-10: five convolutions, two dense layers, 1,250,213 values."""
    return nn.Sequential(
        nn.Conv2d(3, 48, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(48, 128, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(128, 192, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(192, 160, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(160, 128, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(512, 977),
        nn.ReLU(),
        nn.Linear(977, 10),
    )


class CharacterLstm(nn.Module):
    """Two LSTM layers that predict the next character: 4,025,330 values for tiny Shakespeare's 65 characters."""

    def __init__(self, character_count: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(character_count, CHARACTER_EMBEDDING)
        self.lstm = nn.LSTM(CHARACTER_EMBEDDING, LSTM_UNITS, num_layers=2, batch_first=True)
        self.head = nn.Linear(LSTM_UNITS, character_count)

    def forward(self, characters: Tensor) -> Tensor:
        """Logits of shape (rows, character_count, length) for characters of shape (rows, length)."""
        states, _ = self.lstm(self.embedding(characters))
        return self.head(states).transpose(1, 2)


def value_count(model: nn.Module) -> int:
    """Values of all parameters."""
    return sum(parameter.numel() for parameter in model.parameters())
