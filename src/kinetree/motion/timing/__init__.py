"""The fastest timing along a given path: reachability analysis of the path's speed."""
