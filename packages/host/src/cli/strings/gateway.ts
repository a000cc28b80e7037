/** Every text of `holdfast gateway`. A translation replaces this table. */
export const gatewayStrings = {
  about:
    "Shows the chat bot, who asks to write to it, and what has not arrived. Somebody who writes to the bot gets a code; once you allow it, the bot answers them. A webhook lets a program send messages, and posts the answers to its url.",
  examples: {
    show: "the bot, open requests, and undelivered messages",
    allow: "let the person who has this code write to the bot",
    webhook: "let a program send messages, under the name ci",
    rotate: "make a new secret; the old one works until you do it again",
  },
  noBot:
    "No bot is connected. Paste its token on the page, under Settings, Chat bot, or set HOLDFAST_TELEGRAM_TOKEN.",
  bot: (name: string, state: string) => `@${name}: ${state}`,
  unknownBot: "…",
  request: (name: string, code: string) => `asks: ${name} — holdfast gateway allow ${code}`,
  person: (state: string, name: string, id: string) => `${state}: ${name} (${id})`,
  chat: (lane: string) => `chat: ${lane}`,
  undelivered: (state: string, lane: string, reason: string) =>
    `${state}: ${lane} ${reason}`.trim(),
  webhook: {
    title: (name: string) => `webhook: ${name}`,
    noAnswers: "no answers",
    answersTo: (url: string) => `answers to ${url}`,
    rotating: "two secrets work",
    commands: (names: readonly string[]) => `may use ${names.join(" ")}`,
    address: (url: string) => `address: ${url}`,
    sameSecret: (name: string) =>
      `secret: unchanged; holdfast gateway rotate ${name} makes a new one`,
    newSecret: (secret: string) => `secret, shown this once: ${secret}`,
    removed: (name: string) => `The webhook ${name} and its secrets are deleted.`,
  },
  decided: {
    allowed: (name: string) => `${name} may write to the bot.`,
    denied: (name: string) => `${name} is denied.`,
  },
  usage: {
    show: "holdfast gateway takes nothing more.",
    allow: "Give the code that the bot replied with: holdfast gateway allow K3M9X2AB",
    deny: "Give the code that the bot replied with: holdfast gateway deny K3M9X2AB",
    webhook:
      "Give a name, and a url for the answers if there is one: holdfast gateway webhook ci https://ci.example.org/hook",
    rotate: "Name the webhook: holdfast gateway rotate ci",
    remove: "Name the webhook: holdfast gateway remove ci",
  },
} as const;
