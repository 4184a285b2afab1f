"""The auctions of one product, compiled: what they read, what they change, and the loop itself."""
