"""Set before scikit-learn is imported, so that none of its estimator checks is skipped."""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")
