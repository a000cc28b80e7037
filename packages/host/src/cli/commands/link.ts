import { describeError } from "@holdfast/client";
import { type Command, exit, hasFlag } from "../command.ts";
import { withHost } from "../connection/connect.ts";
import { cleanJson, cleanLine } from "../screen/text.ts";

export const link: Command = {
  usage: ["link"],
  about:
    "A link that signs one browser in, once, within ten minutes: for another browser, or when the link that serve printed was used.",
  flags: { json: { type: "boolean", about: "the link and when it expires, as a line of JSON" } },
  examples: [["holdfast link", "while a host serves"]],
  settings: "reach",
  run(given, terminal) {
    return withHost(given, terminal, async ({ client, location, address, config }) => {
      if (location === "here" || address === undefined) {
        terminal.printError(
          "No host is running: start one with holdfast serve, which prints a link.",
        );
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
