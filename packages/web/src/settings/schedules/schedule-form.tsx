import type { GatewayView, ScheduleView } from "@holdfast/protocol";
import { type FormEvent, useRef, useState } from "react";
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

function today(): string {
  const now = new Date();
  const two = (part: number) => String(part).padStart(2, "0");
  return `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
}

export function ScheduleForm({ schedule, chats, onSaved, onClose }: ScheduleFormProps) {
  const [draft, setDraft] = useState<ScheduleDraft>(() =>
    schedule === null ? emptyDraft(localTimeZone(), today()) : draftFromSchedule(schedule, today()),
  );
  const [trouble, setTrouble] = useState<string | null>(null);
  const [saving, setSaving] = useState(false);
  const save = useSaveSchedule(schedule);
  const change = (part: Partial<ScheduleDraft>) => setDraft((old) => ({ ...old, ...part }));

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
      className="provider schedule-form"
      aria-label={schedule === null ? texts.form.new : texts.form.edit}
      onSubmit={(event) => void submit(event)}
    >
      <label className="field">
        {texts.form.prompt}
        <textarea
          className="input"
          rows={3}
          maxLength={4_000}
          // It opens because somebody asked for it.
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

/** Asks the host; a sentence says why it was not taken. */
function useSaveSchedule(schedule: ScheduleView | null) {
  const { client } = useApp();
  /** A conversation that was made for a schedule which was then refused is there for the next try. */
  const made = useRef<ReturnType<typeof parseTarget>>(null);

  return async function save(draft: ScheduleDraft): Promise<ScheduleView | string> {
    const drafted = draftToBody(draft);
    if (drafted.kind === "missing") return texts.missing[drafted.what];
    let target = parseTarget(draft.where) ?? made.current;
    if (target === null) {
      const session = await client.createSession({ body: { title: drafted.body.title } });
      if (!session.ok) return describeRefusal(session.error);
      target = made.current = { sessionId: session.value.session.id };
    }
    const body = { ...drafted.body, target };
    const result =
      schedule === null
        ? await client.createSchedule({ body })
        : await client.changeSchedule({ params: { id: schedule.id }, body });
    return result.ok ? result.value.schedule : describeRefusal(result.error);
  };
}
