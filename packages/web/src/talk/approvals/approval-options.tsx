import { useId } from "react";
import type { LiveView } from "@holdfast/protocol";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";
import { LoadedFiles } from "./shown-call.tsx";
import { ToolArguments } from "../transcript/tool-details.tsx";

type OpenApproval = LiveView["approvals"][number];

const hour = 3_600;
/** How long a lasting yes holds, in seconds; the first is without an end. */
const durations = [undefined, hour, 24 * hour, 7 * 24 * hour, 30 * 24 * hour] as const;

/** For how long and for which further calls a lasting yes holds. */
export interface LastingChoice {
  readonly rule: string | undefined;
  readonly seconds: number | undefined;
}

interface ApprovalOptionsProps {
  readonly approval: OpenApproval;
  readonly choice: LastingChoice;
  readonly onChange: (choice: LastingChoice) => void;
}

/** In a small window these are folded, so that the buttons are never in view without the command. */
const largeWindow = "(min-height: 35rem) and (min-width: 40rem)";

/** What a lasting yes would cover, and what else is known about the call. */
export function ApprovalOptions({ approval, choice, onChange }: ApprovalOptionsProps) {
  const { rules = [], hidden, onceOnly, place, sandbox } = approval;
  const { rule, seconds } = choice;
  return (
    <details className="approval-options" open={matchMedia(largeWindow).matches}>
      <summary className="quiet">{strings.approval.options}</summary>
      {onceOnly !== true && (
        <>
          {rule !== undefined && (
            <RuleChoice
              rules={rules}
              rule={rule}
              onChange={(next) => onChange({ ...choice, rule: next })}
            />
          )}
          <DurationChoice
            seconds={seconds}
            onChange={(next) => onChange({ ...choice, seconds: next })}
          />
        </>
      )}
      <p className="quiet">
        {hidden === undefined ? strings.approval.lead : strings.approval.hidden}{" "}
        {onceOnly === true && strings.approval.onceOnly}
      </p>
      {sandbox !== undefined && sandbox.kind !== "none" && (
        <p className="quiet">{revealInvisible(sandbox.words)}</p>
      )}
      {place !== undefined && (
        <p className="quiet">{strings.approval.workspace(revealInvisible(place))}</p>
      )}
      <LoadedFiles approval={approval} />
      {approval.shown !== undefined && (
        <details className="approval-whole">
          <summary className="quiet">{strings.approval.whole}</summary>
          <ToolArguments input={approval.input} />
        </details>
      )}
    </details>
  );
}

interface DurationChoiceProps {
  readonly seconds: number | undefined;
  readonly onChange: (seconds: number | undefined) => void;
}

function DurationChoice({ seconds, onChange }: DurationChoiceProps) {
  const id = useId();
  return (
    <div className="approval-rule">
      <label className="quiet" htmlFor={id}>
        {strings.approval.lasts}
      </label>
      <select
        id={id}
        value={seconds ?? ""}
        onChange={({ target: { value } }) => onChange(value === "" ? undefined : Number(value))}
      >
        {durations.map((duration) => (
          <option key={duration ?? "always"} value={duration ?? ""}>
            {duration === undefined
              ? strings.approval.untilRevoked
              : strings.approval.duration(duration / hour)}
          </option>
        ))}
      </select>
    </div>
  );
}

interface RuleChoiceProps {
  readonly rules: readonly string[];
  readonly rule: string;
  readonly onChange: (rule: string) => void;
}

/** Which calls a lasting approval would cover, so that nobody allows more than they have read. */
function RuleChoice({ rules, rule, onChange }: RuleChoiceProps) {
  const id = useId();
  if (rules.length === 1)
    return (
      <p className="quiet">
        {strings.approval.covers} <code dir="ltr">{revealInvisible(rule)}</code>
      </p>
    );
  return (
    <div className="approval-rule">
      <label className="quiet" htmlFor={id}>
        {strings.approval.covers}
      </label>
      <select id={id} dir="ltr" value={rule} onChange={(event) => onChange(event.target.value)}>
        {rules.map((option) => (
          <option key={option} value={option}>
            {revealInvisible(option)}
          </option>
        ))}
      </select>
    </div>
  );
}
