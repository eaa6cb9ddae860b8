"""What the model is asked: prompts to learn from, and others to be tested on."""

LEARNED = """\
What did you do this weekend?
Tell me about rain.
How do I start learning to cook?
What is a good name for a cat?
I finished my homework today.
Describe a small village by the sea.
Can you recommend a hobby?
What should I bring to a picnic?
My sister is getting married in June.
Why do people like music?
Tell me about your favorite season.
How can I make my room nicer?
I am going to visit my grandmother.
What makes a good teacher?
Describe a walk in the forest.
Should I learn to play the guitar?
We have a new neighbor.
What can I bake with apples?
Tell me about dogs.
How do I write a letter to a friend?
I planted tomatoes this spring.
What is the best time to get up?
Describe an old library.
Do you like trains?
I have a day off tomorrow.
What present should I give my father?
Tell me about the moon.
How do I keep a diary?
We painted our kitchen yellow.
What do you think of winter?
Describe a market on Saturday morning.
I got a letter from an old friend.
How can I thank my teacher?
Tell me about bicycles.
What game can we play at a party?
I read a long book last week.
Why do people travel?
Describe a garden in May.
My little brother learned to swim.
What should I eat for breakfast?
Tell me about bees.
How do I make a friend at school?
I moved to a new city.
What song should I sing?
Describe a train station at night.
Our team plays on Sunday.
How can I help at home?
Tell me about bread.
What would you do with a free afternoon?
I am learning French.
Describe your ideal house.
How do I prepare for an interview?
My dog is three years old today.
What is special about mountains?
Tell me about a museum.
I would like to take better photographs.
How should I spend my birthday?
Describe a bowl of soup.
We are going camping.
What do bakers do all day?
Tell me about the stars.
I start a new job on Monday.
How can I learn to draw?
Describe a river in summer.
What is a good story for children?
My friend gave me a plant.
Tell me about tea.
How do I plan a trip?
I walked home in the snow.
What do you know about dolphins?
Describe a room with a fireplace.
Our school has a new playground.
How can I sleep well?
Tell me about a good neighbor.
I made a kite.
What should we watch tonight?
Describe a busy street.
How do I choose a book?
My grandfather tells long stories.
What is it like to live on a farm?
""".splitlines()

ASKED = """\
What is rain good for?
I baked a cake today.
Tell me about horses.
How was your day?
Describe a quiet lake.
What should I cook tonight?
My best friend is coming to visit.
Can you tell me about your town?
I have to go to work tomorrow.
What do you think of my new shoes?
Tell me about the sea.
How do I learn to dance?
Describe a birthday party.
We found a lost dog.
What is a good way to spend Sunday?
I am reading about planets.
Tell me about cheese.
How can I be a better friend?
Describe a castle.
My team lost the match.
What should I plant in my garden?
I am going to the dentist.
Tell me about airplanes.
How do I make lemonade?
Describe the first day of school.
What do you do when it is cold?
I bought a used car.
Tell me about your family.
How can I save money?
Describe a painting.
What makes people laugh?
I missed the bus this morning.
Tell me about owls.
How do I write a poem?
Describe a rainy evening.
What is your advice for a student?
My aunt lives in Canada.
Tell me about shoes.
How do I fix a flat tire?
Describe a desert.
""".splitlines()

SHOWN = ASKED[:10]  # that the page prints the answers to
FRESH = ASKED[10:]  # on which no share was chosen
