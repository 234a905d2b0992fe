"""Sets of coordinates that all parties send in a round, agreed without telling the aggregator; the rest waits at home.

Source: Tang et al. 2019 (DoubleSqueeze), with one set for all parties in place of a compression by each.
"""
