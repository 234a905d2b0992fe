"""Form `guest_layer`: FATE's split network, in which the guest holds a host's weights under noise, for a comparison."""
