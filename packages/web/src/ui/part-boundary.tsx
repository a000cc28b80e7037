import { Component, type ReactNode, Suspense } from "react";
import { strings } from "../strings/strings.ts";

interface PartBoundaryProps {
  readonly children: ReactNode;
}

interface PartBoundaryState {
  readonly hasFailed: boolean;
}

/**
 * Around a part of the page that is loaded when it is opened. If it cannot be loaded or drawn, for example because the
 * host was updated since the tab was opened, the rest of the page stays.
 */
export class PartBoundary extends Component<PartBoundaryProps, PartBoundaryState> {
  override state: PartBoundaryState = { hasFailed: false };

  static getDerivedStateFromError(): PartBoundaryState {
    return { hasFailed: true };
  }

  override render(): ReactNode {
    if (!this.state.hasFailed) return <Suspense fallback={null}>{this.props.children}</Suspense>;
    return (
      <div className="empty-state" role="alert">
        <p>{strings.shell.partFailed}</p>
        <p>
          <button type="button" className="button" onClick={() => location.reload()}>
            {strings.shell.reload}
          </button>
        </p>
      </div>
    );
  }
}
