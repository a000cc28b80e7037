import type { GatewayView } from "@holdfast/protocol";
import { useApp } from "../../app-context.ts";
import { sessionTitle } from "../../sessions/session-actions.ts";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";
import { type KnownNames, laneName } from "../gateway/lane-name.ts";
import { type ScheduleDraft, parseTarget } from "./schedule-draft.ts";
import { useHostQuery } from "../settings-group.tsx";
import { useSessionTitles } from "../use-titles.ts";

interface ScheduleTargetFieldProps {
  readonly draft: ScheduleDraft;
  readonly chats: KnownNames & Pick<GatewayView, "lanes">;
  readonly onChange: (part: Partial<ScheduleDraft>) => void;
}

const targetTexts = strings.schedules.form;
const maxOffered = 100;

/** In a conversation of its own, in one that there is, or in a chat that hears the answer. */
export function ScheduleTargetField({
  draft: { where },
  chats,
  onChange,
}: ScheduleTargetFieldProps) {
  const { client } = useApp();
  const [read] = useHostQuery(() => client.listSessions({ query: { limit: maxOffered } }));
  const sessions = read.kind === "read" ? read.value.sessions : [];
  const lanes = chats.lanes.map(({ lane }) => lane);
  const chosen = parseTarget(where);
  // What was chosen long ago is offered still.
  const elsewhere =
    chosen !== null && "sessionId" in chosen && !sessions.some(({ id }) => id === chosen.sessionId)
      ? [chosen.sessionId]
      : [];
  const titleOfOther = useSessionTitles(elsewhere);
  if (chosen !== null && "lane" in chosen && !lanes.includes(chosen.lane)) lanes.push(chosen.lane);
  return (
    <label className="field">
      {targetTexts.where}
      <select
        className="input"
        value={where}
        onChange={(event) => onChange({ where: event.target.value })}
      >
        <option value="own">{targetTexts.own}</option>
        {lanes.length > 0 && (
          <optgroup label={targetTexts.chats}>
            {lanes.map((lane) => (
              <option key={lane} value={lane}>
                {revealInvisible(laneName(lane, chats))}
              </option>
            ))}
          </optgroup>
        )}
        <optgroup label={targetTexts.conversations}>
          {elsewhere.map((id) => (
            <option key={id} value={id}>
              {titleOfOther(id)}
            </option>
          ))}
          {sessions.map((session) => (
            <option key={session.id} value={session.id}>
              {sessionTitle(session)}
            </option>
          ))}
        </optgroup>
      </select>
    </label>
  );
}
