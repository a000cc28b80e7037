import type { ApprovalNeed, Tool, ToolCall, ToolContext, ToolResult } from "@holdfast/engine";
import { jsonObject, type TaintSource } from "@holdfast/protocol";
import { z } from "zod";

export interface ToolDefinition<S extends z.ZodType> {
  readonly name: string;
  readonly description: string;
  /** Strict: unknown fields are refused. The model gets the same schema. */
  readonly input: S;
  readonly replay: Tool["replay"];
  readonly timeLimitMs?: number;
  readonly asks: ApprovalNeed;
  /** It changes nothing, or not with such input: it may be used in plan mode. */
  readonly onlyReads?: true | ((input: z.infer<S>) => boolean);
  readonly place?: Tool["place"];
  readonly snapshot?: Tool["snapshot"];
  /** What a stranger may have written of the output. */
  readonly taint?: (input: z.infer<S>) => readonly TaintSource[];
  run(input: z.infer<S>, call: ToolCall, context: ToolContext): Promise<ToolResult>;
}

const defaultTimeLimitMs = 60_000;

/**
 * A tool whose arguments are validated first. Invalid ones give a failed result that tells the model what to correct;
 * nobody is asked to approve a call that cannot run.
 */
export function defineTool<S extends z.ZodType>(definition: ToolDefinition<S>): Tool {
  const { name, description, input: schema, replay, place, asks, taint, onlyReads } = definition;
  const { snapshot } = definition;
  const { $schema: _, ...input } = jsonObject.parse(
    z.toJSONSchema(schema, { io: "input", override: withoutLargestInteger }),
  );
  return {
    name,
    description,
    input,
    replay,
    timeLimitMs: definition.timeLimitMs ?? defaultTimeLimitMs,
    approval: (given) => (asks !== "none" && schema.safeParse(given).success ? asks : "none"),
    ...(place !== undefined && { place }),
    ...(snapshot !== undefined && { snapshot }),
    ...(onlyReads !== undefined && {
      onlyReads(given) {
        const parsed = schema.safeParse(given);
        if (!parsed.success) return false;
        return onlyReads === true || onlyReads(parsed.data);
      },
    }),
    ...(taint !== undefined && {
      taint(given) {
        const parsed = schema.safeParse(given);
        return parsed.success ? taint(parsed.data) : [];
      },
    }),
    async run(call, context) {
      const parsed = schema.safeParse(call.input);
      if (!parsed.success)
        return failed(`The arguments do not fit. ${describeIssues(parsed.error)}`);
      return definition.run(parsed.data, call, context);
    },
  };
}

/** Every request would carry it, and it says nothing. */
function withoutLargestInteger({ jsonSchema }: { readonly jsonSchema: { maximum?: unknown } }) {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}

export function ok(output: string): ToolResult {
  return { outcome: "ok", output };
}

export function failed(output: string): ToolResult {
  return { outcome: "failed", output };
}

const maxIssues = 5;
const maxDescriptionLength = 800;

function describeIssues({ issues }: z.ZodError): string {
  const lines = issues.slice(0, maxIssues).map(({ path, message }) => {
    const field = path.map(String).join(".");
    return field === "" ? message : `${field}: ${message}`;
  });
  const more = issues.length > maxIssues ? ` And ${issues.length - maxIssues} more.` : "";
  return `${lines.join("; ").slice(0, maxDescriptionLength)}.${more}`;
}
