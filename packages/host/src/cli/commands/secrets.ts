import { StoreFailure } from "@holdfast/engine";
import { readConfig } from "../../ops/config/read-config.ts";
import { SecretsLocked } from "../../ops/secrets/encrypted-rows.ts";
import type { OpenedSecrets } from "../../ops/secrets/secrets.ts";
import { type Command, exit, type Terminal } from "../command.ts";
import { withSecrets } from "../connection/with-secrets.ts";
import { cleanLine } from "../screen/text.ts";

export const secrets: Command = {
  usage: ["secrets", "secrets rotate"],
  about: [
    "Stored keys and the password's hash are encrypted in the store. The key that opens them is in HOLDFAST_SECRETS_KEY or in",
    "secrets.key in the home, and never in a backup. Without an argument it lists the names, and marks those that this key cannot open.",
    "rotate makes a new key and encrypts everything with it; running hosts pick it up. Where the key is in the environment, set",
    "HOLDFAST_SECRETS_KEY to the new key, a space and the old one first, and remove the old one afterwards.",
  ].join("\n"),
  examples: [
    ["holdfast secrets", "what is stored, without its values"],
    ["holdfast secrets rotate", "a new key, for example after a home was copied"],
  ],
  settings: "none",
  async run(given, terminal) {
    const [action = "list"] = given.words;
    if (action !== "list" && action !== "rotate") {
      terminal.printError(
        `"secrets ${cleanLine(action)}" is not known. The only action is rotate.`,
      );
      return exit.misuse;
    }
    const config = readConfig({ ...terminal, flags: given.flags });
    if (!config.ok) {
      terminal.printError(config.failure.message);
      return exit.failed;
    }
    const act = action === "list" ? list : rotate;
    const result = await withSecrets(config.value, (opened) => act(opened, terminal));
    if (result.ok) return result.value;
    terminal.printError(result.failure.message);
    return exit.failed;
  },
};

async function list({ rows }: OpenedSecrets, terminal: Terminal): Promise<number> {
  for (const name of rows.names().toSorted()) terminal.print(cleanLine(name));
  const unreadable = rows.unreadable();
  for (const name of unreadable.toSorted())
    terminal.print(`${cleanLine(name)}  (this key cannot open it)`);
  return unreadable.length === 0 ? exit.done : exit.failed;
}

async function rotate({ rows }: OpenedSecrets, terminal: Terminal): Promise<number> {
  try {
    const count = await rows.rotate();
    terminal.print(`${count} encrypted with a new key.`);
    return exit.done;
  } catch (error) {
    if (!(error instanceof SecretsLocked) && !(error instanceof StoreFailure)) throw error;
    terminal.printError(error.message);
    return exit.failed;
  }
}
