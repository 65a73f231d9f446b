# The tasks live in dev.py, which needs only Python; `make help` lists them.
# Arguments: make test ARGS="-m spark -x"
PYTHON ?= python3
ARGS ?=
TASKS = run test lint types format golden-update property-full metamorphic crosscheck-full proofs-full async-full streams-full live-full stream-kills door-full spark-full faults-full cluster browser fuzz pythons versions only bench docs extension setup clean

.PHONY: help $(TASKS)
help:
	@$(PYTHON) dev.py

$(TASKS):
	@$(PYTHON) dev.py $@ $(ARGS)
