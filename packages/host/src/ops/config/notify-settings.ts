import { isWebhookUrl } from "@holdfast/protocol";
import { z } from "zod";

import { setting } from "./setting.ts";

export const notifySettings = {
  notifyUrl: setting<string | undefined>({
    about: "the webhook that is told when a person is needed",
    allowed: "an address like https://hooks.example.org/holdfast, without a user name or a hash",
    schema: z.string().max(2_048).refine(isWebhookUrl),
    fallback: () => undefined,
    fallbackInWords: "none: nobody is told",
    // Many a hook is open to whoever knows its address.
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
