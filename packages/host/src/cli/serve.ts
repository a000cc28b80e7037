import { readConfig } from "../config/index.ts";
import { startHost } from "../host.ts";
import { openLog } from "../open-log.ts";
import { type Command, exit } from "./command.ts";
import { announceHost } from "./running-hosts.ts";
import { stopRequested } from "./stop-signal.ts";

export const serve: Command = {
  usage: ["serve"],
  about:
    "Serves the page and the API until it is stopped. Ctrl-C once stops it in order: runs are let go of and go on with the next host.",
  examples: [
    ["holdfast serve", "prints the address and a link that signs a browser in once"],
    ["HOLDFAST_PORT=9000 holdfast serve", "on another port"],
    ["holdfast serve --store postgres://me@db/holdfast", "several machines can serve one database"],
    [
      "ANTHROPIC_API_KEY=… holdfast serve",
      "with a provider; without one the rehearsal model answers",
    ],
  ],
  settings: "host",
  async run({ flags }, terminal) {
    const stopAsked = stopRequested(process);
    const config = readConfig({ ...terminal, flags });
    const host = config.ok
      ? await startHost(
          config.value,
          openLog(config.value, (line) => terminal.complain(line)),
        )
      : config;
    if (!config.ok || !host.ok) {
      if (!host.ok) terminal.complain(host.failure.sentence);
      return exit.failed;
    }
    // A host without the web role has a door for those who watch over it, and none for people.
    const { home, roles } = config.value;
    const { localAddress, signInLink } = host.value;
    const servesPeople = roles.value.includes("web");
    const withdraw = servesPeople ? announceHost(home.value, localAddress) : () => undefined;
    terminal.say(
      servesPeople
        ? `Holdfast is at ${signInLink} (signs you in once, within 10 minutes)`
        : `Holdfast works as ${roles.value.join(" and ")}, and says how it is at ${localAddress}health`,
    );
    await stopAsked;
    withdraw();
    await host.value.stop();
    return exit.done;
  },
};
