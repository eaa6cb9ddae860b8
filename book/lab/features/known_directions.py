"""Dictionaries of vectors whose directions are known: how many are found, how many units die.

cd book
python -m lab.features.known_directions --record known-directions.json
"""

FEATURES, WIDTH, VECTORS = 64, 32, 8000
SHARES = (0.05, 0.1, 0.2)  # of the vectors in which a direction is active
PRICE, ACTIVE = 0.3, 4
START = 1000  # of the first weights: with the seed of the directions they would be the same
