import { similarNames } from "@holdfast/client";
import { StoreFailure } from "@holdfast/engine";
import { readConfig } from "../../ops/config/read-config.ts";
import { SecretsLocked } from "../../ops/secrets/encrypted-rows.ts";
import type { OpenedSecrets } from "../../ops/secrets/secrets.ts";
import { type Command, exit, type Terminal } from "../command.ts";
import { withSecrets } from "../connection/with-secrets.ts";
import { cleanLine } from "../screen/text.ts";
import { secretsStrings as texts } from "../strings/host.ts";
import { programStrings } from "../strings/program.ts";

export const secrets: Command = {
  usage: ["secrets", "secrets rotate"],
  about: texts.about,
  examples: [
    ["holdfast secrets", texts.examples.list],
    ["holdfast secrets rotate", texts.examples.rotate],
  ],
  settings: "none",
  async run(given, terminal) {
    const [action = "list"] = given.words;
    if (action !== "list" && action !== "rotate") {
      const known = ["list", "rotate"];
      terminal.printError(
        programStrings.unknownAction(
          "secrets",
          cleanLine(action),
          similarNames(action, known),
          known,
        ),
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
  for (const name of unreadable.toSorted()) terminal.print(texts.unreadable(cleanLine(name)));
  if (rows.names().length + unreadable.length === 0) terminal.printError(texts.none);
  return unreadable.length === 0 ? exit.done : exit.failed;
}

async function rotate({ rows }: OpenedSecrets, terminal: Terminal): Promise<number> {
  try {
    const count = await rows.rotate();
    terminal.print(texts.rotated(count));
    return exit.done;
  } catch (error) {
    if (!(error instanceof SecretsLocked) && !(error instanceof StoreFailure)) throw error;
    terminal.printError(error.message);
    return exit.failed;
  }
}
