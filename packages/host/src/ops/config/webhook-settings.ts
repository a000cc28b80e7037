import { isWebhookUrl, webhookCommand, webhookName, webhookSecret } from "@holdfast/protocol";
import { z } from "zod";

import { setting } from "./setting.ts";

/** Written down here, or the name of a variable of the host's own environment that holds it. */
const secretSchema = z.union([
  webhookSecret,
  z.strictObject({ env: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/) }),
]);

const webhookSchema = z.strictObject({
  secret: secretSchema.optional(),
  /** The one before it, while both count. */
  oldSecret: secretSchema.optional(),
  url: z.string().max(2_048).refine(isWebhookUrl).optional(),
  network: z.enum(["public", "private"]).optional(),
  /** What its texts may be beside messages. */
  commands: z.array(webhookCommand).max(webhookCommand.options.length).optional(),
  /** What these commands reach: the sessions that a conversation of its own has begun, or all of the owner's. */
  sessions: z.enum(["own", "all"]).optional(),
});
export type Webhooks = Readonly<Record<string, z.infer<typeof webhookSchema>>>;

const webhooksSchema: z.ZodType<Webhooks> = z
  .record(webhookName, webhookSchema)
  .refine((hooks) => Object.keys(hooks).length <= 32);

export const webhookSettings = {
  webhooks: setting<Webhooks>({
    about: "the programs that may speak to the agent by signed webhooks",
    allowed:
      'an object of webhooks by name, like {"build-server": {"secret": {"env": "BUILD_SECRET"}, "url": "https://build.example.org/holdfast"}}; "network": "private" where the address is not on the public internet, "oldSecret" while two secrets count, "commands": ["new", "stop"] for what its texts may be beside messages, "sessions": "all" where these may reach every session',
    // The environment and flags bring the same object as a text.
    schema: z.union([z.string().transform(parseWebhooksJson).pipe(webhooksSchema), webhooksSchema]),
    fallback: () => ({}),
    fallbackInWords: "none",
    traits: ["secret"],
  }),
};

function parseWebhooksJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
