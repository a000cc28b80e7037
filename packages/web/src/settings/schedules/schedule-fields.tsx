import { useId, useMemo } from "react";
import { Icon } from "../../ui/icons.tsx";
import { strings } from "../../strings/strings.ts";
import { intervalUnits, type ScheduleDraft, weekdays, parseTarget } from "./schedule-draft.ts";
import { SchedulePreview } from "./schedule-preview.tsx";
import type { GatewayView } from "@holdfast/protocol";
import { useApp } from "../../app-context.ts";
import { sessionTitle } from "../../sessions/session-actions.ts";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { type KnownNames, laneName } from "../gateway/lane-name.ts";
import { useHostQuery } from "../settings-group.tsx";
import { useSessionTitles } from "../use-titles.ts";

interface ScheduleTimeFieldsProps {
  readonly draft: ScheduleDraft;
  readonly onChange: (part: Partial<ScheduleDraft>) => void;
}

const timeTexts = strings.schedules;
const maxTimes = 24;

export function ScheduleTimeFields({ draft, onChange }: ScheduleTimeFieldsProps) {
  const zonesId = useId();
  const zones = useMemo(() => Intl.supportedValuesOf("timeZone"), []);
  return (
    <>
      <fieldset className="choices">
        <legend>{timeTexts.form.repeat}</legend>
        {(["weekly", "interval", "once", "cron"] as const).map((repeat) => (
          <label key={repeat} className="choice">
            <input
              type="radio"
              name="repeat"
              checked={draft.repeat === repeat}
              onChange={() => onChange({ repeat })}
            />
            <span>{timeTexts.form[repeat]}</span>
          </label>
        ))}
      </fieldset>
      {draft.repeat === "weekly" ? <Days draft={draft} onChange={onChange} /> : null}
      <div className="row schedule-times">
        {draft.repeat === "once" && (
          <label className="field">
            {timeTexts.form.date}
            <input
              className="input"
              type="date"
              value={draft.date}
              onChange={(event) => onChange({ date: event.target.value })}
            />
          </label>
        )}
        {draft.repeat === "interval" ? (
          <Interval draft={draft} onChange={onChange} />
        ) : draft.repeat === "cron" ? (
          <CronField draft={draft} onChange={onChange} />
        ) : (
          <Times draft={draft} onChange={onChange} />
        )}
        <label className="field schedule-zone">
          {timeTexts.form.zone}
          <input
            className="input"
            list={zonesId}
            spellCheck={false}
            autoComplete="off"
            value={draft.timeZone}
            onChange={(event) => onChange({ timeZone: event.target.value })}
          />
        </label>
        <datalist id={zonesId}>
          {zones.map((zone) => (
            <option key={zone} value={zone}>
              {zone}
            </option>
          ))}
        </datalist>
      </div>
      <p className="quiet">
        {draft.repeat === "cron" ? timeTexts.form.cronHint : timeTexts.form.zoneHint}
      </p>
      <SchedulePreview draft={draft} />
    </>
  );
}

function Interval({ draft: { every, unit }, onChange }: ScheduleTimeFieldsProps) {
  return (
    <>
      <label className="field schedule-count">
        {timeTexts.form.every}
        <input
          className="input"
          type="number"
          min={1}
          step={1}
          inputMode="numeric"
          value={every}
          // Another interval begins anew.
          onChange={(event) => onChange({ every: event.target.value, from: null })}
        />
      </label>
      <label className="field">
        {timeTexts.form.unit}
        <select
          className="input"
          value={unit}
          onChange={(event) => {
            const chosen = intervalUnits.find((each) => each === event.target.value);
            if (chosen !== undefined) onChange({ unit: chosen, from: null });
          }}
        >
          {intervalUnits.map((each) => (
            <option key={each} value={each}>
              {timeTexts.units[each]}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}

function CronField({ draft: { cron }, onChange }: ScheduleTimeFieldsProps) {
  return (
    <label className="field schedule-cron">
      {timeTexts.form.cronField}
      <input
        className="input"
        dir="ltr"
        spellCheck={false}
        autoComplete="off"
        autoCapitalize="off"
        maxLength={200}
        placeholder="0 8 * * mon-fri"
        value={cron}
        onChange={(event) => onChange({ cron: event.target.value })}
      />
    </label>
  );
}

function Days({ draft, onChange }: ScheduleTimeFieldsProps) {
  return (
    <fieldset className="choices days">
      <legend>{timeTexts.form.days}</legend>
      {weekdays.map((day) => (
        <label key={day} className="choice" title={timeTexts.days[day][1]}>
          <input
            type="checkbox"
            aria-label={timeTexts.days[day][1]}
            checked={draft.days.includes(day)}
            onChange={(event) =>
              onChange({
                days: weekdays.filter((other) =>
                  other === day ? event.target.checked : draft.days.includes(other),
                ),
              })
            }
          />
          <span>{timeTexts.days[day][0]}</span>
        </label>
      ))}
    </fieldset>
  );
}

function Times({ draft: { at, repeat }, onChange }: ScheduleTimeFieldsProps) {
  const shown = repeat === "once" ? at.slice(0, 1) : at;
  const change = (index: number, time: string) =>
    onChange({ at: at.map((old, other) => (other === index ? time : old)) });
  return (
    <>
      {shown.map((time, index) => (
        <div key={index} className="row schedule-time">
          <label className="field">
            {timeTexts.form.time(index)}
            <input
              className="input"
              type="time"
              value={time}
              onChange={(event) => change(index, event.target.value)}
            />
          </label>
          {shown.length > 1 && (
            <button
              type="button"
              className="icon-button small"
              aria-label={timeTexts.form.removeTime(time)}
              title={timeTexts.form.removeTime(time)}
              onClick={() => onChange({ at: at.filter((_, other) => other !== index) })}
            >
              <Icon name="close" />
            </button>
          )}
        </div>
      ))}
      {repeat === "weekly" && at.length < maxTimes && (
        <button
          type="button"
          className="button plain"
          onClick={() => onChange({ at: [...at, ""] })}
        >
          <Icon name="add" />
          {timeTexts.form.anotherTime}
        </button>
      )}
    </>
  );
}

interface ScheduleTargetFieldProps {
  readonly draft: ScheduleDraft;
  readonly chats: KnownNames & Pick<GatewayView, "lanes">;
  readonly onChange: (part: Partial<ScheduleDraft>) => void;
}

const targetTexts = strings.schedules.form;
const maxListedSessions = 100;

/** The target: a new conversation, an existing one, or a chat that gets the answer. */
export function ScheduleTargetField({
  draft: { where },
  chats,
  onChange,
}: ScheduleTargetFieldProps) {
  const { client } = useApp();
  const [query] = useHostQuery(() => client.listSessions({ query: { limit: maxListedSessions } }));
  const sessions = query.kind === "loaded" ? query.value.sessions : [];
  const lanes = chats.lanes.map(({ lane }) => lane);
  const chosen = parseTarget(where);
  // The chosen session may be older than the listed ones.
  const unlisted =
    chosen !== null && "sessionId" in chosen && !sessions.some(({ id }) => id === chosen.sessionId)
      ? [chosen.sessionId]
      : [];
  const titleOf = useSessionTitles(unlisted);
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
          {unlisted.map((id) => (
            <option key={id} value={id}>
              {titleOf(id)}
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
