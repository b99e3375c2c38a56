"""Speed, as ratios against named peers on the same work in the same run: `make bench`."""
