import { describeError, shortId } from "@holdfast/client";
import {
  formatDollars,
  formatNumber,
  formatPercent,
  type RouteOutput,
  type Routes,
  type UsageGroupView,
} from "@holdfast/protocol";
import { type Command, exit, hasFlag, textFlag } from "../command.ts";
import { withHost } from "../connection/connect.ts";
import { createPaint, type RenderStyle } from "../screen/paint.ts";
import { columnsOf } from "../screen/screen.ts";
import { drawTable } from "../screen/table.ts";
import { cleanJson, cleanLine } from "../screen/text.ts";
import { usageStrings } from "../strings/usage.ts";

type Usage = RouteOutput<Routes["readUsageGroups"]>;

const defaultDays = 30;
const maxDays = 366;

export const usage: Command = {
  usage: ["usage"],
  about: usageStrings.about,
  flags: {
    days: { type: "string", value: "number", about: usageStrings.flags.days },
    json: { type: "boolean", about: usageStrings.flags.json },
  },
  examples: [
    ["holdfast usage", usageStrings.examples.month],
    ["holdfast usage --days 1", usageStrings.examples.today],
  ],
  settings: "reach",
  async run(given, terminal) {
    const days = Number(textFlag(given, "days") ?? defaultDays);
    if (!Number.isInteger(days) || days < 1 || days > maxDays) {
      terminal.printError(usageStrings.invalidDays);
      return exit.misuse;
    }
    return withHost(given, terminal, async ({ client }) => {
      const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
      const result = await client.readUsageGroups({ query: { days, timeZone } });
      if (!result.ok) {
        terminal.printError(cleanLine(describeError(result.error)));
        return exit.failed;
      }
      if (hasFlag(given, "json")) terminal.print(cleanJson(result.value));
      else if (result.value.total.calls === 0) terminal.printError(usageStrings.nothing(days));
      else {
        const { output, environment } = terminal;
        const style = {
          width: columnsOf(output, 100) - 1,
          paint: createPaint(output, environment),
        };
        for (const line of describeUsage(result.value, style)) terminal.print(line);
      }
      return exit.done;
    });
  },
};

/** A table for each grouping that has something to show. */
function describeUsage(
  { total, days, models, sessions, schedules }: Usage,
  style: RenderStyle,
): readonly string[] {
  const t = usageStrings;
  const used = days.filter(({ calls }) => calls > 0);
  const tables = [
    [t.day, [...used.map((group) => row(group.day, group)), row(t.total, total)]],
    [t.model, models.map((group) => row(group.model, group))],
    [
      t.session,
      sessions.map((group) =>
        row(`${shortId(group.sessionId)} ${group.title ?? t.untitled}`, group),
      ),
    ],
    [t.schedule, schedules.map((group) => row(group.title ?? t.deleted, group))],
  ] as const;
  return tables
    .filter(([, rows]) => rows.length > 0)
    .flatMap(([heading, rows]) => {
      const head = `| ${[heading, t.input, t.output, t.cached, t.cost].join(" | ")} |`;
      return [...drawTable([head, "|---|--:|--:|--:|--:|", ...rows], style), ""];
    });
}

function row(name: string, { input, output, cachedShare, costMicros }: UsageGroupView): string {
  const { none } = usageStrings;
  const cells = [
    cleanLine(name).replaceAll("|", "\\|"),
    formatNumber(input),
    formatNumber(output),
    cachedShare === null ? none : formatPercent(cachedShare),
    // Without a price nothing is known about the cost.
    costMicros === 0 ? none : formatDollars(costMicros),
  ];
  return `| ${cells.join(" | ")} |`;
}
