"""run.py FOLDER PATTERN: run the tests of a folder whose files match a pattern. Each
test that is skipped is a line SKIPPED test: reason, which test/check.sh reports."""

import sys
import unittest

suite = unittest.defaultTestLoader.discover(sys.argv[1], sys.argv[2])
result = unittest.TextTestRunner().run(suite)
for test, reason in result.skipped:
    print(f"SKIPPED {test.id()}: {reason}")
sys.exit(result.testsRun == 0 or not result.wasSuccessful())
