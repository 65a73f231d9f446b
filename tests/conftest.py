"""Makes the default run the same every time: its random programs come from fixed seeds.

The tasks that run many more of them set `EMBERLOG_EXAMPLES`, and look somewhere else each time. Only they make a
program smaller that fails, which takes minutes; `EMBERLOG_EXAMPLES=100` with the name of a test does it for that one.
"""

from __future__ import annotations

import os

from hypothesis import Phase, settings

settings.register_profile("seeded", derandomize=True, phases=(Phase.explicit, Phase.generate))
if "EMBERLOG_EXAMPLES" not in os.environ:
    settings.load_profile("seeded")
