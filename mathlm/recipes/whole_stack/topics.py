"""Everyday subjects that a pretrained model is asked about, to learn from and to judge."""

TOPICS = tuple(
    """
    rain, bread, trains, dogs, winter, music, gardens, letters, the sea, soup, bicycles, cats,
    museums, tea, mountains, birthdays, old books, bees, markets, swimming, apples, snow,
    teachers, the moon, kitchens, games, horses, rivers, chocolate, school, painting, cheese,
    neighbors, storms, airplanes, owls, breakfast, libraries, dancing, forests, cars, poems,
    sleep, farms, shoes, lakes, coffee, villages, football, lemons, photographs, birds,
    grandparents, hotels, honey, sunsets, hospitals, friends, rice, kites, castles, tomatoes,
    windows, camping, singing, deserts, work, candles, theaters, potatoes, islands, clocks,
    flowers, traffic, holidays, chess, movies, elephants, cakes, bridges, spiders, stars,
    newspapers, gloves, parks, homework, mirrors, oranges, travel, fire, weddings, computers,
    running, ghosts, milk, umbrellas, money, mice, concerts, silence
    """.replace("\n", " ").split(",")
)
FORMS = ("What do you think of {}?", "Tell me about {}.", "How do you feel about {}?")
EVERY = 4  # of so many topics one judges


def prompts(judging: bool) -> list[str]:
    """Each topic in each form; a topic that judges stands in no prompt that is learned from."""
    names = [" ".join(topic.split()) for topic in TOPICS]
    kept = [name for i, name in enumerate(names) if (i % EVERY == EVERY - 1) == judging]
    return [form.format(name) for form in FORMS for name in kept]
