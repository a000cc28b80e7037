import type { GatewayView, ScheduleView } from "@holdfast/protocol";
import { type FormEvent, useId, useRef, useState } from "react";
import { useApp } from "../../app-context.ts";
import { strings } from "../../strings/strings.ts";
import type { KnownNames } from "../gateway/lane-name.ts";
import {
  draftToBody,
  draftFromSchedule,
  emptyDraft,
  type ScheduleDraft,
  parseTarget,
} from "./schedule-draft.ts";
import { ScheduleTimeFields, ScheduleTargetField } from "./schedule-fields.tsx";
import { localTimeZone, describeRefusal } from "./format-schedule.ts";

interface ScheduleFormProps {
  /** `null` for a new one. */
  readonly schedule: ScheduleView | null;
  readonly chats: KnownNames & Pick<GatewayView, "lanes">;
  readonly onSaved: (schedule: ScheduleView) => void;
  readonly onClose: () => void;
}

const texts = strings.schedules;
const limitPeriods = ["day", "week", "month"] as const;

function today(): string {
  const now = new Date();
  const twoDigits = (part: number) => String(part).padStart(2, "0");
  return `${now.getFullYear()}-${twoDigits(now.getMonth() + 1)}-${twoDigits(now.getDate())}`;
}

export function ScheduleForm({ schedule, chats, onSaved, onClose }: ScheduleFormProps) {
  const [draft, setDraft] = useState<ScheduleDraft>(() =>
    schedule === null ? emptyDraft(localTimeZone(), today()) : draftFromSchedule(schedule, today()),
  );
  const id = useId();
  const [trouble, setTrouble] = useState<string | null>(null);
  const [saving, setSaving] = useState(false);
  const save = useSaveSchedule(schedule);
  const change = (patch: Partial<ScheduleDraft>) => setDraft((old) => ({ ...old, ...patch }));

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    setSaving(true);
    const saved = await save(draft);
    setSaving(false);
    if (typeof saved === "string") setTrouble(saved);
    else onSaved(saved);
  }

  return (
    <form
      className="settings-card schedule-form"
      aria-label={schedule === null ? texts.form.new : texts.form.edit}
      onSubmit={(event) => void submit(event)}
    >
      <label className="field">
        {texts.form.prompt}
        <textarea
          className="input"
          rows={3}
          maxLength={4_000}
          // The form opens only on request, so moving the focus into it is expected.
          // oxlint-disable-next-line jsx-a11y/no-autofocus
          autoFocus
          placeholder={texts.form.promptHint}
          value={draft.prompt}
          onChange={(event) => change({ prompt: event.target.value })}
        />
      </label>
      <ScheduleTimeFields draft={draft} onChange={change} />
      <ScheduleTargetField draft={draft} chats={chats} onChange={change} />
      <label className="field">
        {texts.form.title}
        <input
          className="input"
          maxLength={100}
          placeholder={texts.form.titleHint}
          value={draft.title}
          onChange={(event) => change({ title: event.target.value })}
        />
      </label>
      <fieldset className="choices">
        <legend>{texts.form.report}</legend>
        {(["always", "changes"] as const).map((report) => (
          <label key={report} className="choice">
            <input
              type="radio"
              name="report"
              checked={draft.report === report}
              onChange={() => change({ report })}
            />
            <span>{texts.report[report]}</span>
          </label>
        ))}
        <p className="quiet">{texts.form.reportHint}</p>
      </fieldset>
      <fieldset className="choices">
        <legend>{texts.form.missed}</legend>
        {(["skip", "once"] as const).map((missed) => (
          <label key={missed} className="choice">
            <input
              type="radio"
              name="missed"
              checked={draft.missed === missed}
              onChange={() => change({ missed })}
            />
            <span>{texts.missed[missed]}</span>
          </label>
        ))}
      </fieldset>
      <div className="field">
        <label htmlFor={`${id}-limit`}>{texts.form.limit}</label>
        <div className="row">
          <input
            id={`${id}-limit`}
            className="input"
            type="number"
            inputMode="decimal"
            min="0"
            max="1000000"
            step="any"
            placeholder={texts.form.noLimit}
            aria-describedby={`${id}-limit-hint`}
            value={draft.limit}
            onChange={(event) => change({ limit: event.target.value })}
          />
          <select
            className="input"
            aria-label={texts.form.limitPeriod}
            value={draft.limitPer}
            onChange={(event) => {
              const per = limitPeriods.find((period) => period === event.target.value);
              if (per !== undefined) change({ limitPer: per });
            }}
          >
            {limitPeriods.map((per) => (
              <option key={per} value={per}>
                {texts.form.limitPer[per]}
              </option>
            ))}
          </select>
        </div>
        <p className="quiet" id={`${id}-limit-hint`}>
          {texts.form.limitHint}
        </p>
      </div>
      {trouble !== null && (
        <p className="callout" role="alert">
          {trouble}
        </p>
      )}
      <div className="dialog-foot">
        <button type="button" className="button plain" onClick={onClose}>
          {strings.common.cancel}
        </button>
        <button type="submit" className="button primary" disabled={saving}>
          {schedule === null ? texts.form.create : strings.common.save}
        </button>
      </div>
    </form>
  );
}

/** Resolves to the saved schedule, or to a sentence that says why it was refused. */
function useSaveSchedule(schedule: ScheduleView | null) {
  const { client } = useApp();
  /** If the host refuses the schedule, the next attempt reuses the session that was created for it. */
  const createdTarget = useRef<ReturnType<typeof parseTarget>>(null);

  return async function save(draft: ScheduleDraft): Promise<ScheduleView | string> {
    const result = draftToBody(draft);
    if (result.kind === "missing") return texts.missing[result.field];
    let target = parseTarget(draft.where) ?? createdTarget.current;
    if (target === null) {
      const session = await client.createSession({ body: { title: result.body.title } });
      if (!session.ok) return describeRefusal(session.error);
      target = createdTarget.current = { sessionId: session.value.session.id };
    }
    const body = { ...result.body, target };
    const saved =
      schedule === null
        ? await client.createSchedule({ body })
        : await client.changeSchedule({ params: { id: schedule.id }, body });
    return saved.ok ? saved.value.schedule : describeRefusal(saved.error);
  };
}
