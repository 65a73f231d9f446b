"""Makes the default run the same every time: its random programs come from fixed seeds.

The tasks that run many more of them set `EMBERLOG_EXAMPLES`, and look somewhere else each time.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("seeded", derandomize=True)
if "EMBERLOG_EXAMPLES" not in os.environ:
    settings.load_profile("seeded")
