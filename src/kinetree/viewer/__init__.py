"""The live viewer: a page in the browser to move mechanisms, play motions and run simulations."""
