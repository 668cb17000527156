/**
 * Owns: the need to run a command in a process group of its own and to end the whole group.
 */
export interface Command {
  /** Run by `/bin/sh -c`. */
  readonly script: string;
  /** Absolute and real. Nothing is started when a symbolic link now leads elsewhere from it. */
  readonly cwd: string;
  /**
   * Marks every process of the group (environment variable WEIR_CALL_ID; WEIR_SESSION is the session of the server), so
   * that a later server can find it.
   */
  readonly callId: string;
  readonly timeoutMs: number;
  /** Most bytes of output kept, head and tail; what is cut is said. */
  readonly maxOutputBytes: number;
}

export interface CommandResult {
  readonly ending: 'exited' | 'signaled' | 'timedOut' | 'aborted' | 'notStarted';
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** stdout and stderr as they came, decoded as UTF-8, cut at character boundaries. */
  readonly output: string;
  /** One sentence: why it could not start, or that some of its processes could not be confirmed to have ended. */
  readonly message: string | null;
}

/** What is to be ended: these calls, and all that was started in these sessions of servers. */
export interface Leftovers {
  readonly callIds?: readonly string[];
  readonly sessions?: readonly string[];
}

export interface Processes {
  /** Never throws. Resolves only when the whole group is gone or could not be confirmed gone within 5 s of SIGKILL. */
  run(command: Command, signal: AbortSignal, onOutput: (text: string) => void): Promise<CommandResult>;
  /** Sessions of servers, of whatever installation, that have started something which still runs on this host. */
  sessions(): Promise<readonly string[]>;
  /** Kills every process group on this host of these calls, or started in these sessions; answers the calls found running. */
  endLeftovers(left: Leftovers): Promise<readonly string[]>;
}
