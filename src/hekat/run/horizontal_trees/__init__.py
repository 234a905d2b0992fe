"""What a party of trees across rows keeps on its machine: the state that training goes on from."""
