"""The runtime: ensembles that people run, watch and look after."""
