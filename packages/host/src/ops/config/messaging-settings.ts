import { z } from "zod";
import { listOf, setting } from "./setting.ts";
import {
  isWebhookUrl,
  type WebhookCommand,
  webhookCommand,
  webhookName,
  webhookSecret,
} from "@holdfast/protocol";

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

/** A literal, or the name of a variable in the host's environment. */
const secretSchema = z.union([
  webhookSecret,
  z.strictObject({ env: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/) }),
]);

const webhookSchema = z.strictObject({
  secret: secretSchema.optional(),
  /** The previous secret, while both are valid. */
  oldSecret: secretSchema.optional(),
  url: z.string().max(2_048).refine(isWebhookUrl).optional(),
  network: z.enum(["public", "private"]).optional(),
  /** Which commands its messages may contain. */
  commands: z.array(webhookCommand).max(webhookCommand.options.length).optional(),
  /** What these commands can reach: sessions of its own conversations, or all of the owner's. */
  sessions: z.enum(["own", "all"]).optional(),
});
export type Webhooks = Readonly<Record<string, z.infer<typeof webhookSchema>>>;

const webhooksSchema: z.ZodType<Webhooks> = z
  .record(webhookName, webhookSchema)
  .refine((hooks) => Object.keys(hooks).length <= 32);

const webhookCommandsSchema = z.record(
  webhookName,
  z.array(webhookCommand).max(webhookCommand.options.length),
);

export const webhookSettings = {
  webhooks: setting<Webhooks>({
    about: "the programs that may speak to the agent by signed webhooks",
    allowed:
      'an object of webhooks by name, like {"build-server": {"secret": {"env": "BUILD_SECRET"}, "url": "https://build.example.org/holdfast"}}; "network": "private" where the address is not on the public internet, "oldSecret" while two secrets count, "commands": ["new", "stop"] for what its texts may be beside messages, "sessions": "all" where these may reach every session',
    // The environment and flags contain the same object as JSON text.
    schema: z.union([z.string().transform(parseWebhooksJson).pipe(webhooksSchema), webhooksSchema]),
    fallback: () => ({}),
    fallbackInWords: "none",
    traits: ["secret"],
  }),
  webhookCommands: setting<Readonly<Record<string, readonly WebhookCommand[]>>>({
    about: "the commands that programs added on the page may use",
    allowed: 'an object like {"build-server": ["new", "stop"]}, or that as JSON',
    schema: z.union([
      z.string().transform(parseWebhooksJson).pipe(webhookCommandsSchema),
      webhookCommandsSchema,
    ]),
    fallback: () => ({}),
    fallbackInWords: "none",
  }),
};

function parseWebhooksJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const notifySettings = {
  notifyUrl: setting<string | undefined>({
    about: "the webhook that is told when a person is needed",
    allowed: "an address like https://hooks.example.org/holdfast, without a user name or a hash",
    schema: z.string().max(2_048).refine(isWebhookUrl),
    fallback: () => undefined,
    fallbackInWords: "none: nobody is told",
    // Many hooks are open to whoever knows their URL.
    traits: ["secret"],
  }),
  notifySecret: setting<string | undefined>({
    about: "what the webhook knows us by; needed with one",
    allowed: "16 to 256 visible ASCII characters without a space, or whsec_ and the key in base64",
    schema: z
      .string()
      .regex(/^[\x21-\x7e]{16,256}$/)
      .refine(
        (text) => !text.startsWith("whsec_") || /^whsec_[A-Za-z0-9+/]{22,}={0,2}$/.test(text),
      ),
    fallback: () => undefined,
    fallbackInWords: "none",
    traits: ["secret"],
  }),
  notifyDetails: setting<"on" | "off">({
    about:
      "whether the webhook is also told what was said: titles, what a tool would do, why a run failed",
    allowed: "on or off",
    schema: z.enum(["on", "off"]),
    fallback: () => "off",
    fallbackInWords: "off",
  }),
};
