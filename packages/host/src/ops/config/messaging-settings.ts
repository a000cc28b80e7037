import { z } from "zod";

import { listOf, setting } from "./setting.ts";

export const telegramSettings = {
  telegramToken: setting<string | undefined>({
    about: "the token of a Telegram bot, as BotFather gives it",
    allowed: "a token like 123456:ABC…",
    schema: z.string().regex(/^\d{1,20}:[A-Za-z0-9_-]{1,200}$/),
    fallback: () => undefined,
    fallbackInWords: "none: no bot",
    traits: ["secret"],
  }),
  telegramApiRoot: setting({
    about: "the Bot API server",
    allowed: "an address like https://api.telegram.org",
    schema: z
      .string()
      .refine((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ""))
      .transform((text) => text.replace(/\/+$/, "")),
    fallback: () => "https://api.telegram.org",
    fallbackInWords: "https://api.telegram.org",
  }),
  telegramAllow: setting<readonly string[]>({
    about: "the people who may speak to the bot without pairing, by their numbers",
    allowed: "numbers with commas between them",
    schema: listOf(z.string().regex(/^\d{1,20}$/)),
    fallback: () => [],
    fallbackInWords: "nobody",
  }),
  telegramWebhook: setting<string | undefined>({
    about: "the address under which Telegram reaches this host; without it the host asks Telegram",
    allowed: "an address like https://holdfast.example.org",
    schema: z
      .string()
      .refine((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ""))
      .transform((text) => text.replace(/\/+$/, "")),
    fallback: () => undefined,
    fallbackInWords: "none: long polling",
  }),
  telegramWebhookSecret: setting<string | undefined>({
    about: "what Telegram shows with everything that it pushes; needed with a webhook",
    allowed: "16 to 256 letters, digits, - and _",
    schema: z.string().regex(/^[A-Za-z0-9_-]{16,256}$/),
    fallback: () => undefined,
    fallbackInWords: "none",
    traits: ["secret"],
  }),
};
