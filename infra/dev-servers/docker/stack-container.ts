import { GenericContainer } from 'testcontainers';
import { runLabel } from './engine.ts';

/** What one server may take; docker-compose.yml has the same bounds or lower ones. */
const memoryGigabytes = 1.5;
const processesMax = 512;

/**
 * A server of one run, bounded in memory and processes. Its ports are published on loopback alone, where
 * Testcontainers by itself publishes on all interfaces.
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

  /** What the engine is asked for. */
  get limits() {
    const { Memory, PidsLimit } = this.hostConfig;
    return { Memory, PidsLimit, PortBindings: this.hostConfig.PortBindings as unknown };
  }
}
