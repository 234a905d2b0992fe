"""LoRA adapters of a transformer, federated and encrypted: the base and its embeddings never leave, nor do they move.

Needs `pip install 'hekat[lora]'`. The transformer is a small BERT with random weights, made from its configuration, so
that nothing is downloaded; with `from_pretrained` it is your own.
"""

import torch
from peft import LoraConfig, get_peft_model
from transformers import BertConfig, BertForSequenceClassification

import hekat

ROUNDS = 12
PARTIES = {"north": 160, "lake": 100, "county": 60}  # sentences of each
WORDS, LENGTH = 40, 8  # a sentence is of class 1 if its first word is in the upper half of the vocabulary


def make_model():
    torch.manual_seed(1)  # all parties begin with the same weights
    shape = {
        "hidden_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 64,
    }
    base = BertForSequenceClassification(BertConfig(vocab_size=WORDS, max_position_embeddings=LENGTH, **shape))
    return get_peft_model(base, LoraConfig(r=8, target_modules=["query", "value"], task_type="SEQ_CLS"))


def draw_sentences(count, seed):
    words = torch.randint(0, WORDS, (count, LENGTH), generator=torch.Generator().manual_seed(seed))
    return words, (words[:, 0] >= WORDS // 2).long()


sentences = {name: draw_sentences(count, seed) for seed, (name, count) in enumerate(PARTIES.items())}
test_words, test_labels = draw_sentences(400, seed=99)


def train_at(party, freeze_first_factors=False):  # runs once for each party
    model = make_model()
    hekat.start_adapters(party, model, freeze_first_factors=freeze_first_factors)
    words, labels = sentences[party.name]
    optimiser = torch.optim.AdamW([one for one in model.parameters() if one.requires_grad], lr=1e-2)
    for _ in range(ROUNDS):
        model.train()
        for batch in torch.randperm(len(labels)).split(20):
            optimiser.zero_grad()
            model(input_ids=words[batch], labels=labels[batch]).loss.backward()
            optimiser.step()
        party.aggregate(model, weight=len(labels))
    return model


def accuracy(model):
    model.eval()
    with torch.no_grad():
        return (model(input_ids=test_words).logits.argmax(1) == test_labels).float().mean().item()


if __name__ == "__main__":
    whole = sum(one.numel() for one in make_model().parameters())
    print(f"accuracy on {len(test_labels)} test sentences; a model of {whole:,} values")
    ways = {"LoRA": {}, "LoRA, A frozen": {"freeze_first_factors": True}}
    for what, how in ways.items():
        run = hekat.federate(lambda party, how=how: train_at(party, **how), list(PARTIES))
        last = run.costs.rounds[-1]
        sent = f"{last.value_count:,} values a round, {last.bytes['north'].up / 1000:.0f} kB up"
        print(f"  {what:<15} {accuracy(run.results['north']):.1%}, {sent}")
