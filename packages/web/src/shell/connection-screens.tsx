import { type FormEvent, type ReactNode, useId, useState } from "react";
import type { SignInProblem } from "../host/host-store.ts";
import { Logo } from "../ui/icons.tsx";
import { strings } from "../strings/strings.ts";

function CenteredScreen({ children, role }: { children: ReactNode; role?: "alert" }) {
  return (
    <main className="centered-screen">
      <div className="column" role={role}>
        <Logo />
        {children}
      </div>
    </main>
  );
}

export function ConnectingScreen() {
  return (
    <main className="centered-screen">
      <output className="column fade-in-late">
        <span className="pulsing">
          <Logo />
        </span>
        <p className="quiet">{strings.connecting}</p>
      </output>
    </main>
  );
}

export function UnreachableScreen({ onRetry }: { onRetry: () => Promise<void> }) {
  const [isPending, setIsPending] = useState(false);
  async function retry(): Promise<void> {
    setIsPending(true);
    await onRetry();
    setIsPending(false);
  }
  return (
    <CenteredScreen role="alert">
      <h1>{strings.unreachable.title}</h1>
      <p className="lead">{strings.unreachable.lead}</p>
      <div className="row">
        <button type="button" className="button" disabled={isPending} onClick={() => void retry()}>
          {strings.unreachable.retry}
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
  const [isPending, setIsPending] = useState(false);
  const [field, hint, notice] = [useId(), useId(), useId()];
  const trimmed = token.trim();
  const t = strings.signIn;

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    if (trimmed === "") return;
    setIsPending(true);
    await onToken(trimmed);
    setIsPending(false);
  }

  return (
    <CenteredScreen>
      <h1>{t.title}</h1>
      <p className="lead">{t.lead}</p>
      {trouble !== undefined && (
        <p className="callout" role="alert" id={notice}>
          {t.trouble[trouble]}
        </p>
      )}
      <form className="sign-in-form" onSubmit={(event) => void submit(event)}>
        <label className="field" htmlFor={field}>
          {t.field}
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
          <button type="submit" className="button primary" disabled={isPending || trimmed === ""}>
            {isPending ? t.submitting : t.submit}
          </button>
        </div>
        <p className="quiet" id={hint}>
          {t.hintBefore}
          <code>token</code>
          {t.hintBetween}
          <code>~/.holdfast</code>
          {t.hintAfter}
        </p>
      </form>
    </CenteredScreen>
  );
}
