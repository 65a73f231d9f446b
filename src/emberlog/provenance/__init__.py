"""Why a fact is there, why another is not, and how a value came about: proofs, rebuilt from recorded iterations."""
