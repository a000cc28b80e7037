import { describeSchedule } from "@holdfast/client";
import {
  laneKey,
  scheduleId,
  scheduleTimes,
  type ScheduleView,
  sessionId,
} from "@holdfast/protocol";
import type { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { type McpCaller, mcpLane } from "./caller.ts";
import { isoTime, resultOf, toolRefusal, toolResult } from "./tool-result.ts";

/** Schedules belong to the owner: callers with an API key are not offered these tools. */
export function registerScheduleTools(server: McpServer, { client }: McpCaller): void {
  server.registerTool(
    "schedules_list",
    {
      title: "List schedules",
      description: "Lists the prompts that are sent to the agent at certain times.",
      inputSchema: z.object({}),
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    async () =>
      resultOf(client.listSchedules(), ({ schedules }) =>
        toolResult(
          schedules.length === 0
            ? "There are no schedules."
            : schedules.map((each) => `${each.id} ${describeSchedule(each)}`).join("\n"),
          { schedules: schedules.map(viewSchedule) },
        ),
      ),
  );

  server.registerTool(
    "schedule_create",
    {
      title: "Create a schedule",
      description:
        "Has a prompt sent to the agent at certain times, to a session or to the chat of a lane. Repeating the call with the same request_id creates nothing twice.",
      inputSchema: z.object({
        title: z.string().trim().min(1).max(100),
        prompt: z.string().trim().min(1).max(4_000),
        times: scheduleTimes.describe(
          "Days of the week with times, one date with a time, everyMinutes for an interval, or a cron expression of five fields",
        ),
        time_zone: z.string().min(1).max(100).describe("An IANA name like Europe/Berlin"),
        report: z
          .enum(["always", "changes"])
          .optional()
          .describe("changes: an answer is delivered only if it says something new"),
        session_id: sessionId.optional(),
        lane: laneKey.optional(),
        request_id: z
          .string()
          .regex(/^[\x21-\x7e]{1,200}$/, "expected 1 to 200 printable characters without spaces")
          .describe("An id that you choose for this request; use it again only to retry"),
      }),
      annotations: { idempotentHint: true, destructiveHint: false },
    },
    async ({
      title,
      prompt,
      times,
      time_zone: timeZone,
      report,
      session_id: session,
      lane,
      request_id,
    }) => {
      const target =
        lane !== undefined ? { lane } : session !== undefined ? { sessionId: session } : null;
      if (target === null || (lane !== undefined && session !== undefined))
        return toolRefusal("invalid_request", "Name either session_id or lane.");
      return resultOf(
        client.createSchedule({
          headers: { "idempotency-key": `mcp:${request_id}` },
          body: {
            title,
            prompt,
            times,
            timeZone,
            target,
            madeIn: mcpLane,
            ...(report !== undefined && { report }),
          },
        }),
        ({ schedule }) =>
          toolResult(`Created ${schedule.id}. ${describeSchedule(schedule)}`, {
            schedule: viewSchedule(schedule),
          }),
      );
    },
  );

  server.registerTool(
    "schedule_remove",
    {
      title: "Remove a schedule",
      description: "Removes a schedule. What it has sent stays.",
      inputSchema: z.object({ schedule_id: scheduleId }),
      annotations: { idempotentHint: true, destructiveHint: true },
    },
    async ({ schedule_id: id }) =>
      resultOf(client.removeSchedule({ params: { id } }), () =>
        toolResult(`Removed ${id}.`, { schedule_id: id }),
      ),
  );
}

function viewSchedule(schedule: ScheduleView) {
  const { id, title, prompt, times, timeZone, target, report, state, nextAt } = schedule;
  return {
    schedule_id: id,
    title,
    prompt,
    times,
    time_zone: timeZone,
    target,
    report: report ?? "always",
    state,
    next_at: nextAt === null ? null : isoTime(nextAt),
  };
}
