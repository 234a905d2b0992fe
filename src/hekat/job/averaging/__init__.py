"""Jobs of protocol `averaging`: what the sites of a training app that an engine runs have agreed on about its sums."""
