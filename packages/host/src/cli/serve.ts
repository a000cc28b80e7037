import { readConfig } from "../config/index.ts";
import { startHost } from "../host.ts";
import { type Command, misuse } from "./command.ts";
import { describeSettings, parseFlags } from "./flags.ts";
import { stopRequested } from "./stop-signal.ts";

export const serve: Command = {
  async run(args, terminal) {
    const flags = parseFlags(args);
    if (!flags.ok) {
      terminal.complain(flags.sentence);
      return misuse;
    }
    if (flags.values["help"] === true) {
      terminal.say(`holdfast serve: serves the page and the API.\n\n${describeSettings()}`);
      return 0;
    }

    const stopAsked = stopRequested(process);
    const config = readConfig({ ...terminal, flags: flags.values });
    const host = config.ok
      ? await startHost(config.value, (bug) => terminal.complain(bug.stack ?? bug.message))
      : config;
    if (!host.ok) {
      terminal.complain(host.failure.sentence);
      return 1;
    }

    terminal.say(`Holdfast is at ${host.value.signInLink} (signs you in once, within 10 minutes)`);
    await stopAsked;
    await host.value.stop();
    return 0;
  },
};
