import { type FormEvent, useState } from "react";
import { type ProfileView, type RouteInput, type Routes, rightsSubject } from "@holdfast/protocol";
import { problemText, useApp } from "../app-context.ts";
import { revealInvisible } from "../ui/markdown/safe-text.ts";
import { strings } from "../strings/strings.ts";
import { Choice, TextField } from "./form-fields.tsx";
import { SettingsGroup, useHostQuery } from "./settings-group.tsx";

type ProfileBody = RouteInput<Routes["putRightsProfile"]>["body"];

const microsPerDollar = 1_000_000;

/** What messages may cause, by where they come from. */
export function RightsSettings() {
  const { client, toasts } = useApp();
  const [query, refetch] = useHostQuery(() => client.readRights());
  const t = strings.rights;

  async function report(request: Promise<{ ok: boolean }>, done: string): Promise<boolean> {
    const result = (await request) as Awaited<ReturnType<typeof client.readRights>>;
    toasts.show(result.ok ? done : problemText(result.error));
    refetch();
    return result.ok;
  }
  const give = (subject: string, profile: string | null) => {
    const parsed = rightsSubject.safeParse(subject);
    if (!parsed.success) {
      toasts.show(t.unknownSubject);
      return Promise.resolve(false);
    }
    return report(client.assignRights({ body: { subject: parsed.data, profile } }), t.given);
  };

  return (
    <SettingsGroup title={t.title} hint={t.hint} query={query}>
      {({ profiles, assignments }) => (
        <>
          <ul className="facts-list">
            {profiles.map((profile) => (
              <ProfileRow
                key={profile.name}
                profile={profile}
                onRemove={() =>
                  void report(
                    client.removeRightsProfile({ params: { name: profile.name } }),
                    t.removed,
                  )
                }
              />
            ))}
          </ul>
          <ProfileForm
            onSave={(name, body) =>
              report(client.putRightsProfile({ params: { name }, body }), t.saved)
            }
          />
          <ul className="facts-list">
            {assignments.map(({ subject, profile }) => (
              <li key={subject}>
                <span className="fact-text">
                  <code dir="ltr">{revealInvisible(subject)}</code>
                  <span className="quiet">{profile}</span>
                </span>
                <button
                  type="button"
                  className="button"
                  aria-label={t.takeBackNamed(subject)}
                  onClick={() => void give(subject, null)}
                >
                  {t.takeBack}
                </button>
              </li>
            ))}
          </ul>
          <GiveForm profiles={profiles} onGive={give} />
        </>
      )}
    </SettingsGroup>
  );
}

function ProfileRow({ profile, onRemove }: { profile: ProfileView; onRemove: () => void }) {
  const { name, builtIn, tools, sessions, memory, approvals, spendMicrosPerDay } = profile;
  const t = strings.rights;
  const facts = [
    t.toolsFact(tools),
    t.sessionsFact[sessions],
    t.memoryFact[memory],
    approvals ? t.answers : t.answersNot,
    ...(spendMicrosPerDay === undefined ? [] : [t.spendFact(spendMicrosPerDay / microsPerDollar)]),
  ];
  return (
    <li>
      <span className="fact-text">
        <strong>{name}</strong>
        <span className="quiet">{facts.join("; ")}</span>
      </span>
      {!builtIn && (
        <button
          type="button"
          className="button plain"
          aria-label={t.removeNamed(name)}
          onClick={onRemove}
        >
          {t.remove}
        </button>
      )}
    </li>
  );
}

interface ProfileFormProps {
  readonly onSave: (name: string, body: ProfileBody) => Promise<boolean>;
}

function ProfileForm({ onSave }: ProfileFormProps) {
  const [name, setName] = useState("");
  const [tools, setTools] = useState("*");
  const [sessions, setSessions] = useState<ProfileBody["sessions"]>("own");
  const [memory, setMemory] = useState<ProfileBody["memory"]>("none");
  const [approvals, setApprovals] = useState(false);
  const [spend, setSpend] = useState("");
  const t = strings.rights;

  async function save(event: FormEvent): Promise<void> {
    event.preventDefault();
    const body = {
      tools: tools.split(/[\s,]+/).filter((tool) => tool !== ""),
      sessions,
      memory,
      approvals,
      ...(spend !== "" && { spendMicrosPerDay: Math.round(Number(spend) * microsPerDollar) }),
    };
    if (await onSave(name.trim(), body)) setName("");
  }

  return (
    <form className="settings-form" aria-label={t.form} onSubmit={(event) => void save(event)}>
      <TextField label={t.name} value={name} onChange={setName} />
      <TextField label={t.tools} value={tools} onChange={setTools} />
      <Choice label={t.sessions} value={sessions} options={t.sessionsFact} onChange={setSessions} />
      <Choice label={t.memory} value={memory} options={t.memoryFact} onChange={setMemory} />
      <TextField label={t.spend} value={spend} onChange={setSpend} />
      <label className="choice">
        <input
          type="checkbox"
          checked={approvals}
          onChange={(event) => setApprovals(event.target.checked)}
        />
        <span>{t.answers}</span>
      </label>
      <button type="submit" className="button" disabled={name.trim() === ""}>
        {t.save}
      </button>
    </form>
  );
}

interface GiveFormProps {
  readonly profiles: readonly ProfileView[];
  readonly onGive: (subject: string, profile: string) => Promise<boolean>;
}

function GiveForm({ profiles, onGive }: GiveFormProps) {
  const [subject, setSubject] = useState("");
  const [profile, setProfile] = useState(profiles[0]?.name ?? "");
  const t = strings.rights;
  async function give(event: FormEvent): Promise<void> {
    event.preventDefault();
    if (await onGive(subject.trim(), profile)) setSubject("");
  }
  return (
    <form className="settings-form" aria-label={t.giveForm} onSubmit={(event) => void give(event)}>
      <TextField label={t.subject} value={subject} onChange={setSubject} />
      <Choice
        label={t.profile}
        value={profile}
        options={Object.fromEntries(profiles.map((each) => [each.name, each.name]))}
        onChange={setProfile}
      />
      <button type="submit" className="button" disabled={subject.trim() === ""}>
        {t.give}
      </button>
    </form>
  );
}
