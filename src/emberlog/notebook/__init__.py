"""Has what `%load_ext emberlog` brings into a notebook: `%datalog`, `%%datalog`, and completion in their cells."""
