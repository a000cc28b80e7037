const passages = {
  said: [
    "A holdfast is the part of a kelp that grips the rock.",
    "It takes nothing from the stone; it only refuses to let go.",
    "Above it the blades go where the water goes, and come back.",
    "When a storm passes, the harbour counts its boats before it counts its losses.",
    "Someone writes each name in a book, in the order of arrival.",
    "A line that was written in ink is not written twice.",
    "The keeper of the light goes up at dusk, whoever may be watching.",
    "If he falls asleep, another climbs the stairs and reads the log first.",
    "Ropes are inspected on the day when nothing has gone wrong.",
    "The tide table hangs by the door, and nobody argues with it.",
    "Late ships are expected for as long as the lamp burns.",
    "In the morning the page is full, and the next one begins where it ended.",
  ],
  thought: [
    "Let me look at what was asked before I answer.",
    "There are a few ways to go about this, and the plain one will do.",
    "I should check the order of things first.",
    "Nothing here needs haste, so I count the words as I go.",
    "That fits; what remains is to say it.",
  ],
} as const;

const sentencesPerParagraph = 5;

/** Exactly so many words to read, the same each time; each with the blank that stands before it. */
export function* fillerWords(kind: keyof typeof passages, count: number): Generator<string> {
  const sentences = passages[kind];
  let left = count;
  let blank = "";
  for (let index = 0; left > 0; index++) {
    for (const word of sentences[index % sentences.length]?.split(" ") ?? []) {
      if (left === 0) return;
      left--;
      yield blank + (left === 0 ? word.replace(/[,;.]?$/, ".") : word);
      blank = " ";
    }
    if ((index + 1) % sentencesPerParagraph === 0) blank = "\n\n";
  }
}
