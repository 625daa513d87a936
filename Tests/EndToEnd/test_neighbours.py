"""An app and its extension share a store, and are frozen and killed at any moment: the short form of `Scripts/torture frozen`."""

import os
import pathlib
import sys
import unittest

from heartlog import PACKAGE, TestCase, seed

sys.path.insert(0, str(PACKAGE / "Tests" / "Endurance"))

import frozen  # noqa: E402

SECONDS, SECONDS_PER_ROUND = 8, 4


@unittest.skipUnless(os.access(frozen.TORTURE, os.X_OK), f"{pathlib.Path(frozen.TORTURE).name} is not beside the program")
class NeighboursTests(TestCase):
    def test_frozen_and_killed_they_lose_nothing_and_read_what_was_acknowledged(self):
        # How long they wait depends on the machine; that nobody waits without end does not.
        figures = frozen.run(SECONDS, seed(), judges_waits=False, seconds_per_round=SECONDS_PER_ROUND)
        print(figures, file=sys.stderr)
        self.assertGreater(figures.acknowledged, 0)


if __name__ == "__main__":
    unittest.main()
