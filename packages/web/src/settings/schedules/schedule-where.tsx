import type { GatewayView } from "@holdfast/protocol";
import { useApp } from "../../app-context.ts";
import { titleOf } from "../../sessions/session-actions.ts";
import { revealUnseen } from "../../ui/markdown/safe-text.ts";
import { words } from "../../strings/strings.ts";
import { type Known, laneName } from "../gateway/lane-name.ts";
import { type ScheduleDraft, targetOf } from "./schedule-draft.ts";
import { useRead } from "../settings-group.tsx";
import { useTitles } from "../use-titles.ts";

interface ScheduleWhereProps {
  readonly draft: ScheduleDraft;
  readonly chats: Known & Pick<GatewayView, "lanes">;
  readonly onChange: (part: Partial<ScheduleDraft>) => void;
}

const w = words.schedules.form;
const offered = 100;

/** In a conversation of its own, in one that there is, or in a chat that hears the answer. */
export function ScheduleWhere({ draft: { where }, chats, onChange }: ScheduleWhereProps) {
  const { client } = useApp();
  const [read] = useRead(() => client.listSessions({ query: { limit: offered } }));
  const sessions = read.kind === "read" ? read.value.sessions : [];
  const lanes = chats.lanes.map(({ lane }) => lane);
  const chosen = targetOf(where);
  // What was chosen long ago is offered still.
  const elsewhere =
    chosen !== null && "sessionId" in chosen && !sessions.some(({ id }) => id === chosen.sessionId)
      ? [chosen.sessionId]
      : [];
  const titleOfOther = useTitles(elsewhere);
  if (chosen !== null && "lane" in chosen && !lanes.includes(chosen.lane)) lanes.push(chosen.lane);
  return (
    <label className="field">
      {w.where}
      <select
        className="input"
        value={where}
        onChange={(event) => onChange({ where: event.target.value })}
      >
        <option value="own">{w.own}</option>
        {lanes.length > 0 && (
          <optgroup label={w.chats}>
            {lanes.map((lane) => (
              <option key={lane} value={lane}>
                {revealUnseen(laneName(lane, chats))}
              </option>
            ))}
          </optgroup>
        )}
        <optgroup label={w.conversations}>
          {elsewhere.map((id) => (
            <option key={id} value={id}>
              {titleOfOther(id)}
            </option>
          ))}
          {sessions.map((session) => (
            <option key={session.id} value={session.id}>
              {titleOf(session)}
            </option>
          ))}
        </optgroup>
      </select>
    </label>
  );
}
