import { GenericContainer } from 'testcontainers';
import { runLabel } from './engine.ts';

/** Limits of one server. docker-compose.yml has the same limits or lower ones. */
const memoryGigabytes = 1.5;
const processesMax = 512;

/**
 * A server of one run, with limits on memory and processes. Publishes its ports on loopback only; Testcontainers
 * would publish them on all interfaces.
 */
export class StackContainer extends GenericContainer {
  constructor(image: string, run: string) {
    super(image);
    this.withLabels({ [runLabel]: run }).withResourcesQuota({ memory: memoryGigabytes });
    this.hostConfig.PidsLimit = processesMax;
  }

  override withExposedPorts(...ports: Parameters<GenericContainer['withExposedPorts']>): this {
    super.withExposedPorts(...ports);
    const bindings = this.hostConfig.PortBindings as Record<string, { HostPort: string }[]>;
    for (const published of Object.values(bindings).flat()) {
      Object.assign(published, { HostIp: '127.0.0.1' });
    }
    return this;
  }

  /** The limits and ports that the engine receives. */
  get limits() {
    const { Memory, PidsLimit } = this.hostConfig;
    return { Memory, PidsLimit, PortBindings: this.hostConfig.PortBindings as unknown };
  }
}
