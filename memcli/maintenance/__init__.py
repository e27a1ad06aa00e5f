"""The upkeep of memories: decay, promotion, checks and their repairs, statistics."""
