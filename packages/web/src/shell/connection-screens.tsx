import { type FormEvent, type ReactNode, useId, useState } from "react";
import type { SignInProblem } from "../host/host-store.ts";
import { Logo } from "../ui/icons.tsx";
import { strings } from "../strings/strings.ts";

function CenteredScreen({ children, role }: { children: ReactNode; role?: "alert" }) {
  return (
    <main className="stage">
      <div className="column" role={role}>
        <Logo />
        {children}
      </div>
    </main>
  );
}

export function ConnectingScreen() {
  return (
    <main className="stage">
      <output className="column late">
        <span className="breathing">
          <Logo />
        </span>
        <p className="quiet">{strings.reaching}</p>
      </output>
    </main>
  );
}

export function UnreachableScreen({ onRetry }: { onRetry: () => Promise<void> }) {
  const [asking, setAsking] = useState(false);
  async function retry(): Promise<void> {
    setAsking(true);
    await onRetry();
    setAsking(false);
  }
  return (
    <CenteredScreen role="alert">
      <h1>{strings.away.title}</h1>
      <p className="lead">{strings.away.lead}</p>
      <div className="row">
        <button type="button" className="button" disabled={asking} onClick={() => void retry()}>
          {strings.away.retry}
        </button>
      </div>
    </CenteredScreen>
  );
}

interface SignInScreenProps {
  readonly trouble: SignInProblem | undefined;
  readonly onToken: (token: string) => Promise<void>;
}

export function SignInScreen({ trouble, onToken }: SignInScreenProps) {
  const [token, setToken] = useState("");
  const [asking, setAsking] = useState(false);
  const [field, hint, notice] = [useId(), useId(), useId()];
  const given = token.trim();
  const w = strings.signIn;

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    if (given === "") return;
    setAsking(true);
    await onToken(given);
    setAsking(false);
  }

  return (
    <CenteredScreen>
      <h1>{w.title}</h1>
      <p className="lead">{w.lead}</p>
      {trouble !== undefined && (
        <p className="callout" role="alert" id={notice}>
          {w.trouble[trouble]}
        </p>
      )}
      <form className="shelf" onSubmit={(event) => void submit(event)}>
        <label className="field" htmlFor={field}>
          {w.field}
        </label>
        <div className="row">
          <input
            id={field}
            className="input"
            type="password"
            autoComplete="current-password"
            spellCheck={false}
            value={token}
            onChange={(event) => setToken(event.target.value)}
            aria-describedby={trouble === undefined ? hint : `${notice} ${hint}`}
            aria-invalid={trouble === "token-refused"}
          />
          <button type="submit" className="button primary" disabled={asking || given === ""}>
            {asking ? w.submitting : w.submit}
          </button>
        </div>
        <p className="quiet" id={hint}>
          {w.hintBefore}
          <code>token</code>
          {w.hintBetween}
          <code>~/.holdfast</code>
          {w.hintAfter}
        </p>
      </form>
    </CenteredScreen>
  );
}
