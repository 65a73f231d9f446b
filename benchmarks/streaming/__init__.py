"""Programs over streams, in the shape of the Streamlog paper: throughput, latency and memory by window and slide."""
