import { describeError } from "@holdfast/client";
import { type Command, exit, hasFlag } from "../command.ts";
import { withHost } from "../connection/connect.ts";
import { cleanJson, cleanLine } from "../screen/text.ts";
import { linkStrings as texts } from "../strings/access.ts";

export const link: Command = {
  usage: ["link"],
  about: texts.about,
  flags: { json: { type: "boolean", about: texts.flags.json } },
  examples: [["holdfast link", texts.examples.link]],
  settings: "reach",
  run(given, terminal) {
    return withHost(given, terminal, async ({ client, location, address, config }) => {
      if (location === "here" || address === undefined) {
        terminal.printError(texts.noHost);
        return exit.failed;
      }
      const made = await client.createSignInCode();
      if (!made.ok) {
        terminal.printError(cleanLine(describeError(made.error)));
        return exit.failed;
      }
      const { code, expiresAt } = made.value;
      const { url, origin, basePath } = config;
      const page =
        url.value === undefined && origin.value !== undefined
          ? `${origin.value}${basePath.value}`
          : address;
      // A browser sends no server what follows the hash, so the code is in no log.
      const signInLink = `${page.replace(/\/$/, "")}/#signin=${code}`;
      terminal.print(
        hasFlag(given, "json") ? cleanJson({ link: signInLink, expiresAt }) : signInLink,
      );
      return exit.done;
    });
  },
};
