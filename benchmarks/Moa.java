import com.yahoo.labs.samoa.instances.Attribute;
import com.yahoo.labs.samoa.instances.DenseInstance;
import com.yahoo.labs.samoa.instances.Instance;
import com.yahoo.labs.samoa.instances.Instances;
import com.yahoo.labs.samoa.instances.InstancesHeader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import moa.classifiers.AbstractClassifier;
import moa.classifiers.Classifier;
import moa.classifiers.functions.Perceptron;
import moa.classifiers.meta.WeightedMajorityAlgorithm;
import moa.core.Measurement;
import moa.core.ObjectRepository;
import moa.tasks.TaskMonitor;

/** Times MOA's own classifiers inside the virtual machine, prequentially: Moa.java FILE SLOTS LEARNERS REPEATS. */
public class Moa {
    /** Turns that are not counted: the virtual machine compiles what it has seen often. */
    private static final int WARM_UP = 8;

    /** A member whose vote is an attribute of the instance: it takes no time of its own. */
    public static class Given extends AbstractClassifier {
        private final int place;

        Given(int place) {
            this.place = place;
        }

        @Override
        public double[] getVotesForInstance(Instance instance) {
            return instance.value(place) > 0 ? new double[] {0, 1} : new double[] {1, 0};
        }

        @Override
        public void resetLearningImpl() {}

        @Override
        public void trainOnInstanceImpl(Instance instance) {}

        @Override
        protected Measurement[] getModelMeasurementsImpl() {
            return new Measurement[0];
        }

        @Override
        public void getModelDescription(StringBuilder out, int indent) {}

        @Override
        public boolean isRandomizable() {
            return false;
        }
    }

    /** The weighted majority, given its members. */
    public static class Majority extends WeightedMajorityAlgorithm {
        Majority(int learners) {
            ensemble = new Classifier[learners];
            ensembleWeights = new double[learners];
            for (int place = 0; place < learners; place++) {
                ensemble[place] = new Given(place);
                ensemble[place].prepareForUse();
                ensembleWeights[place] = 1.0 / learners;
            }
        }

        @Override
        public void prepareForUseImpl(TaskMonitor monitor, ObjectRepository repository) {}

        @Override
        public void resetLearningImpl() {}
    }

    public static void main(String[] arguments) throws Exception {
        byte[] bytes = Files.readAllBytes(Path.of(arguments[0]));
        int slots = Integer.parseInt(arguments[1]);
        int learners = Integer.parseInt(arguments[2]);
        int repeats = Integer.parseInt(arguments[3]);
        List<Attribute> attributes = new ArrayList<>();
        for (int place = 0; place < learners; place++) attributes.add(new Attribute("learner" + place));
        attributes.add(new Attribute("label", List.of("-1", "+1")));
        InstancesHeader header = new InstancesHeader(new Instances("votes", attributes, 0));
        header.setClassIndex(learners);
        Instance[] instances = new Instance[slots];
        for (int slot = 0; slot < slots; slot++) {
            double[] values = new double[learners + 1];
            for (int place = 0; place < learners; place++) values[place] = bytes[slots + slot * learners + place];
            values[learners] = bytes[slot] > 0 ? 1 : 0;
            instances[slot] = new DenseInstance(1.0, values);
            instances[slot].setDataset(header);
        }
        for (String name : new String[] {"perceptron", "majority"}) {
            for (int turn = -WARM_UP; turn < repeats; turn++) {
                Classifier model = name.equals("majority") ? new Majority(learners) : new Perceptron();
                model.prepareForUse();
                model.setModelContext(header);
                long mistakes = 0;
                long start = System.nanoTime();
                for (Instance instance : instances) {
                    double[] votes = model.getVotesForInstance(instance);
                    int decision = votes.length > 1 && votes[1] > votes[0] ? 1 : 0;
                    if (decision != (int) instance.classValue()) mistakes++;
                    model.trainOnInstance(instance);
                }
                double each = (System.nanoTime() - start) / 1e9 / slots;
                if (turn >= 0) System.out.println(name + " " + each + " " + (double) mistakes / slots);
            }
        }
    }
}
