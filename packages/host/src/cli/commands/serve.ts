import { sleep } from "@holdfast/protocol";
import { type Config } from "../../ops/config/settings.ts";
import { readConfig } from "../../ops/config/read-config.ts";
import type { Failure } from "../../util/outcome.ts";
import { createHostLogger } from "../../ops/telemetry/logger.ts";
import { startOpeningStore } from "../../open-store.ts";
import { allowGrowth } from "../../ops/health/process-limits.ts";
import { type Command, exit } from "../command.ts";
import { announceHost, findRunningHost, isHoldfastHost } from "../connection/running-hosts.ts";
import { serveStrings as texts } from "../strings/host.ts";
import { duplicateInterruptMs, waitForStopSignal } from "../process-signals.ts";

export const serve: Command = {
  usage: ["serve"],
  about: texts.about,
  examples: [
    ["holdfast serve", texts.examples.serve],
    ["HOLDFAST_PORT=9000 holdfast serve", texts.examples.port],
    ["holdfast serve --store postgres://me@db/holdfast", texts.examples.postgres],
    ["ANTHROPIC_API_KEY=… holdfast serve", texts.examples.provider],
  ],
  settings: "host",
  async run({ flags }, terminal) {
    const stopRequested = waitForStopSignal(process);
    const config = readConfig({ ...terminal, flags });
    if (!config.ok) {
      terminal.printError(config.failure.message);
      return exit.failed;
    }
    const log = createHostLogger(config.value, (line) => terminal.printError(line));
    // Another thread opens the store while this one loads the rest.
    const { opening } = await startOpeningStore(config.value, log.report);
    const { startHost } = await import("../../app.ts");
    const host = await startHost(config.value, log, opening);
    if (!host.ok) {
      terminal.printError(
        (await describePortOwner(config.value, host.failure)) ?? host.failure.message,
      );
      return exit.failed;
    }
    // A host without the web role serves its health route only, and nothing to people.
    const { home, roles } = config.value;
    const { localAddress, signInLink } = host.value;
    const servesPeople = roles.value.includes("web");
    const withdraw = servesPeople ? announceHost(home.value, localAddress) : () => undefined;
    terminal.print(
      servesPeople ? texts.address(signInLink) : texts.works(roles.value, localAddress),
    );
    allowGrowth();
    await stopRequested;
    // A duplicate that comes while Node takes down its listeners would end the process by its signal.
    const duplicatesOver = sleep(duplicateInterruptMs);
    withdraw();
    await host.value.stop();
    await duplicatesOver;
    return exit.done;
  },
};

/** A taken port is most often taken by another Holdfast. */
async function describePortOwner(
  { home, host, port, basePath }: Config,
  { code }: Failure,
): Promise<string | undefined> {
  if (code !== "port.taken") return undefined;
  const running = await findRunningHost(home.value);
  if (running !== undefined && Number(new URL(running).port) === port.value)
    return texts.alreadyRunning(running);
  const { originOf } = await import("../../server/http/routing.ts");
  const url = `${originOf(host.value, port.value)}${basePath.value}/`;
  if (!(await isHoldfastHost(url))) return undefined;
  return texts.otherRunning(url);
}
